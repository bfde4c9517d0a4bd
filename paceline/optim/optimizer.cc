#include "paceline/optim/optimizer.h"

#include <cmath>
#include <string_view>

#include "paceline/base/text.h"
#include "paceline/optim/adam.h"
#include "paceline/optim/sgd.h"

namespace paceline::optim {
namespace {

tl::unexpected<Error> bad_key(std::string_view key, std::string what, std::string fix) {
  return fail(Code::InvalidArgument, std::move(what), std::move(fix), cat("optimizer.", key));
}

tl::unexpected<Error> out_of_range(std::string_view key, double value, std::string fix) {
  return bad_key(key, cat(key, " = ", value, " is out of range"), std::move(fix));
}

tl::unexpected<Error> not_of(std::string_view key, std::string_view name,
                             std::string_view of_others) {
  return bad_key(key, cat(name, " has no ", key),
                 cat("leave it out, or set optimizer.name to ", of_others));
}

// The shards compute in float, so the range must hold after rounding too: 1 - 1e-12 is 1 there.
bool is_decay(double value) { return value >= 0 && static_cast<float>(value) < 1; }

Status check_name(const std::string& name) {
  const std::string names[] = {"sgd", "adam", "adamw"};
  for (const auto& known : names) {
    if (name == known) return {};
  }
  const auto meant = nearest(name, names);
  return bad_key("name", cat("\"", name, "\" is no optimizer"),
                 meant.empty() ? cat("use one of ", join(names))
                               : cat("did you mean \"", meant, "\"? There are ", join(names)));
}

Status check_sgd(const OptimizerConfig& config) {
  const OptimizerConfig unset;
  if (!is_decay(config.momentum)) {
    return out_of_range("momentum", config.momentum, "give at least 0 and less than 1");
  }
  if (config.nesterov && config.momentum == 0) {
    return bad_key("nesterov", "nesterov needs a momentum",
                   "set optimizer.momentum above 0, or nesterov to false");
  }
  if (config.beta1 != unset.beta1) return not_of("beta1", config.name, "adam or adamw");
  if (config.beta2 != unset.beta2) return not_of("beta2", config.name, "adam or adamw");
  if (config.eps != unset.eps) return not_of("eps", config.name, "adam or adamw");
  return {};
}

Status check_adam(const OptimizerConfig& config) {
  if (config.momentum != 0) return not_of("momentum", config.name, "sgd");
  if (config.nesterov) return not_of("nesterov", config.name, "sgd");
  if (!is_decay(config.beta1)) {
    return out_of_range("beta1", config.beta1, "give at least 0 and less than 1");
  }
  if (!is_decay(config.beta2)) {
    return out_of_range("beta2", config.beta2, "give at least 0 and less than 1");
  }
  const auto eps = static_cast<float>(config.eps);
  if (!(eps > 0) || !std::isfinite(eps)) {
    return out_of_range("eps", config.eps, "give a positive number that a float can hold");
  }
  return {};
}

}  // namespace

Status check(const OptimizerConfig& config) {
  if (auto ok = check_name(config.name); !ok) return ok;
  if (!(config.weight_decay >= 0) || !std::isfinite(static_cast<float>(config.weight_decay))) {
    return out_of_range("weight_decay", config.weight_decay, "give 0 or a positive number");
  }
  return config.name == "sgd" ? check_sgd(config) : check_adam(config);
}

Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerConfig& config, std::size_t size) {
  if (auto ok = check(config); !ok) return fail(ok.error());
  if (config.name == "sgd") return std::make_unique<SGD>(config, size);
  return std::make_unique<Adam>(config, size);
}

}  // namespace paceline::optim
