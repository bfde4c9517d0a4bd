#include "paceline/net/tls.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/net/tls_context.h"

namespace paceline::net {
namespace {

constexpr long kValidBefore = 3600;  // seconds
constexpr long kValidAfter = 30L * 24L * 3600L;

template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

std::string openssl_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown reason" : reason;
}

bool add_extension(X509* certificate, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, id, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] = static_cast<unsigned char>(bytes[0] & 0x7FU);  // positive
  const std::unique_ptr<BIGNUM, Deleter<BN_free>> serial(BN_bin2bn(bytes, sizeof bytes, nullptr));
  return serial && BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

Certificate sign_itself(EVP_PKEY* key) {
  Certificate certificate(X509_new());
  if (!certificate) return nullptr;
  X509* x = certificate.get();
  X509_NAME* name = X509_get_subject_name(x);
  const auto* title = reinterpret_cast<const unsigned char*>("paceline job");
  const bool good = X509_set_version(x, 2) == 1 && set_serial(x) &&
                    X509_gmtime_adj(X509_getm_notBefore(x), -kValidBefore) != nullptr &&
                    X509_gmtime_adj(X509_getm_notAfter(x), kValidAfter) != nullptr &&
                    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, title, -1, -1, 0) == 1 &&
                    X509_set_issuer_name(x, name) == 1 && X509_set_pubkey(x, key) == 1 &&
                    add_extension(x, NID_basic_constraints, "critical,CA:FALSE") &&
                    add_extension(x, NID_key_usage, "critical,digitalSignature") &&
                    add_extension(x, NID_ext_key_usage, "serverAuth,clientAuth") &&
                    X509_sign(x, key, EVP_sha256()) != 0;
  return good ? std::move(certificate) : nullptr;
}

std::string contents(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

Status refused(const std::string& path) {
  return fail(Code::Refused, cat("cannot write ", path, ": ", std::strerror(errno)),
              "choose a folder that can be written");
}

Status write_private(const std::string& path, const std::string& text) {
  // Away with an old one: its mode and its readers would stay.
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return refused(path);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return refused(path);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    done += static_cast<std::size_t>(n);
  }
  const auto failed = done < text.size() ? refused(path) : Status{};
  close(file);
  return failed;
}

Error unreadable(const std::string& what, const std::string& path, const std::error_code& error) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return {Code::NotFound, cat("the job's ", what, " ", path, " is not there"),
            "every process of a job with TLS needs the files that the job was started with"};
  }
  const bool system = error.category() == std::system_category();
  return {system ? Code::Refused : Code::Corruption,
          cat("the job's ", what, " ", path, " cannot be read: ", error.message()),
          "every process of a job with TLS needs the files that the job was started with"};
}

}  // namespace

Result<TlsFiles> make_job_certificates(const std::string& folder) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = key ? sign_itself(key.get()) : nullptr;
  const Bio key_text(BIO_new(BIO_s_mem()));
  const Bio certificate_text(BIO_new(BIO_s_mem()));
  if (!certificate || !key_text || !certificate_text ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1 ||
      PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1) {
    return fail(Code::Refused, cat("OpenSSL could not make a certificate: ", openssl_reason()));
  }
  TlsFiles files{folder + "/job.crt", folder + "/job.key"};
  if (const auto written = write_private(files.key, contents(key_text)); !written) {
    return fail(written.error());
  }
  if (const auto written = write_private(files.certificate, contents(certificate_text)); !written) {
    return fail(written.error());
  }
  return files;
}

Result<std::shared_ptr<TlsContext>> load_tls(const TlsFiles& files) {
  auto tls = std::make_shared<TlsContext>();
  asio::ssl::context& context = tls->context;
  std::error_code error;
  SSL_CTX* native = context.native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(native, TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(native, 0);  // nobody resumes, and a ticket would be one more message
  context.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
  if (error) return fail(unreadable("certificate", files.certificate, error));
  context.use_certificate_file(files.certificate, asio::ssl::context::pem, error);
  if (error) return fail(unreadable("certificate", files.certificate, error));
  context.load_verify_file(files.certificate, error);
  if (error) return fail(unreadable("certificate", files.certificate, error));
  context.use_private_key_file(files.key, asio::ssl::context::pem, error);
  if (error) return fail(unreadable("key", files.key, error));
  return tls;
}

}  // namespace paceline::net
