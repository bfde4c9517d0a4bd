// policies, codes, models, datasets: what a configuration may name.

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/output.h"
#include "paceline/node/table.h"
#include "paceline/sync/registry.h"
#include "paceline/train/catalog.h"
#include "paceline/train/data.h"

namespace paceline::cli {
namespace {

using Json = nlohmann::ordered_json;
using node::Table;

constexpr std::string_view kCatalogFile = "paceline/train/catalog.cc";
constexpr std::string_view kDataFile = "paceline/train/data.cc";

// Thousands apart, for people.
std::string grouped(std::uint64_t value) {
  const std::string digits = cat(value);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

// Parameters of the model for the data set that it is made for.
std::uint64_t parameters_of(const train::Model& model) {
  const train::DataSource& data = **train::find_data(model.data);
  return train::parameter_count(model.name, data.shape, data.classes).value_or(0);
}

bool is_there(const train::DataSource& source) {
  if (!source.has_files()) return true;
  return !source.default_path.empty() && train::check_files(source, source.default_path);
}

}  // namespace

int cmd_policies(const ListArgs& args) {
  if (args.json) {
    Json out = Json::array();
    for (const sync::PolicyEntry& policy : sync::policies()) {
      out.push_back({{"name", policy.name},
                     {"spec", policy.spec},
                     {"example", policy.example},
                     {"doc", policy.doc},
                     {"source", policy.source},
                     {"file", policy.file}});
    }
    print_json(out);
    return 0;
  }
  Table table({{"policy"}, {"for example"}, {"source"}, {"file"}});
  for (const sync::PolicyEntry& policy : sync::policies()) {
    table.add({policy.spec, policy.example, policy.source, policy.file});
  }
  print(table.text());
  for (const sync::PolicyEntry& policy : sync::policies()) {
    print(cat("\n", policy.spec, "\n", wrapped(policy.doc, 2)));
  }
  return 0;
}

int cmd_codes(const ListArgs& args) {
  if (args.json) {
    print_json(Json::array());
  } else {
    print("There are no gradient codes yet: code.scheme is \"none\".\n");
  }
  return 0;
}

int cmd_models(const ListArgs& args) {
  if (args.json) {
    Json out = Json::array();
    for (const train::Model& model : train::models()) {
      const train::DataSource& data = **train::find_data(model.data);
      out.push_back({{"name", model.name},
                     {"spec", model.name},
                     {"parameters", parameters_of(model)},
                     {"data", model.data},
                     {"image", {data.shape.channels, data.shape.height, data.shape.width}},
                     {"classes", data.classes},
                     {"batch_norm", model.batch_norm},
                     {"doc", model.doc},
                     {"source", model.source},
                     {"file", kCatalogFile}});
    }
    print_json(out);
    return 0;
  }
  Table table({{"model"}, {"parameters", Table::Align::Right}, {"made for"}, {"source"}});
  for (const train::Model& model : train::models()) {
    table.add({model.name, grouped(parameters_of(model)), model.data, model.source});
  }
  print(table.text());
  for (const train::Model& model : train::models()) {
    print(cat("\n", model.name, "\n", wrapped(model.doc, 2)));
  }
  print(cat("\nAll in ", kCatalogFile, ". Data sets: paceline datasets\n"));
  return 0;
}

int cmd_datasets(const ListArgs& args) {
  if (args.json) {
    Json out = Json::array();
    for (const train::DataSource& data : train::data_sources()) {
      const bool has_place = !data.default_path.empty();
      out.push_back({{"name", data.name},
                     {"spec", data.name},
                     {"image", {data.shape.channels, data.shape.height, data.shape.width}},
                     {"classes", data.classes},
                     {"train_samples", data.train_samples},
                     {"test_samples", data.test_samples},
                     {"path", has_place ? Json(data.default_path) : Json(nullptr)},
                     {"installed", is_there(data)},
                     {"doc", data.doc},
                     {"source", data.source},
                     {"fix", data.fix},
                     {"file", kDataFile}});
    }
    print_json(out);
    return 0;
  }
  Table table({{"data set"},
               {"image"},
               {"classes", Table::Align::Right},
               {"train", Table::Align::Right},
               {"test", Table::Align::Right},
               {"where"}});
  for (const train::DataSource& data : train::data_sources()) {
    std::string where = data.fix;
    if (data.has_files() && is_there(data)) where = data.default_path;
    table.add({data.name, to_string(data.shape), cat(data.classes), grouped(data.train_samples),
               grouped(data.test_samples), where});
  }
  print(table.text());
  return 0;
}

}  // namespace paceline::cli
