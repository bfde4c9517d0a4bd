#include "paceline/net/tls.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include "paceline/net/raw_socket.h"
#include "paceline/net/test_node.h"

namespace paceline::net {
namespace {

using ::testing::HasSubstr;
using testing::Node;
using testing::options_of;

constexpr NodeId kServer = server_node(0);
constexpr NodeId kWorker = worker_node(WorkerId{3});

class Tls : public ::testing::Test {
 protected:
  Tls() {
    char name[] = "/tmp/paceline-tls-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Tls() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // Another job's files for each name.
  TlsFiles files(const std::string& job = "a") {
    std::filesystem::create_directories(folder_ + "/" + job);
    return make_job_certificates(folder_ + "/" + job).value();
  }
  static TransportOptions with_tls(NodeId self, const TlsFiles& files) {
    TransportOptions options = options_of(self);
    options.tls = load_tls(files).value();
    return options;
  }
  std::string folder_;
};

// ---- certificates ----

TEST_F(Tls, FilesAreForTheirOwnerOnlyAndMadeAnewEachTime) {
  const TlsFiles first = files();
  struct stat key {};
  struct stat certificate {};
  ASSERT_EQ(stat(first.key.c_str(), &key), 0);
  ASSERT_EQ(stat(first.certificate.c_str(), &certificate), 0);
  EXPECT_EQ(key.st_mode & 0777U, 0600U);
  EXPECT_EQ(certificate.st_mode & 0777U, 0600U);
  const auto text = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string before = text(first.certificate);
  files();
  EXPECT_NE(text(first.certificate), before);
}

TEST_F(Tls, CertificateIsValidFromAnHourAgoForThirtyDays) {
  const TlsFiles made = files();
  FILE* file = std::fopen(made.certificate.c_str(), "r");
  ASSERT_NE(file, nullptr);
  X509* certificate = PEM_read_X509(file, nullptr, nullptr, nullptr);
  std::fclose(file);
  ASSERT_NE(certificate, nullptr);
  int days = 0;
  int seconds = 0;
  // From now to the end, from the beginning to now; a minute for the test to get here.
  ASSERT_EQ(ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate)), 1);
  EXPECT_EQ((days * 86400 + seconds + 60) / 86400, 30);
  ASSERT_EQ(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(certificate), nullptr), 1);
  EXPECT_EQ((days * 86400 + seconds) / 60, 60);
  EXPECT_EQ(EVP_PKEY_get_base_id(X509_get0_pubkey(certificate)), EVP_PKEY_EC);
  EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(certificate)), 256);
  X509_free(certificate);
}

TEST_F(Tls, AFolderThatCannotBeWrittenIsNamed) {
  for (const std::string& bad : {folder_ + "/none", std::string("/proc")}) {
    const auto made = make_job_certificates(bad);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::Refused);
    EXPECT_THAT(made.error().what, HasSubstr(bad));
  }
}

TEST_F(Tls, MissingAndDamagedFilesAreNamed) {
  const TlsFiles good = files();
  const auto expect = [](const TlsFiles& bad, Code code, const std::string& name) {
    const auto loaded = load_tls(bad);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, code) << to_string(loaded.error());
    EXPECT_THAT(loaded.error().what, HasSubstr(name));
    EXPECT_FALSE(loaded.error().fix.empty());
  };
  expect({folder_ + "/no.crt", good.key}, Code::NotFound, "no.crt");
  expect({good.certificate, folder_ + "/no.key"}, Code::NotFound, "no.key");
  std::ofstream(folder_ + "/bad") << "-----BEGIN NOTHING-----";
  expect({folder_ + "/bad", good.key}, Code::Corruption, "certificate");
  expect({good.certificate, folder_ + "/bad"}, Code::Corruption, "key");
  expect({good.certificate, files("b").key}, Code::Corruption, "key");  // of another certificate
}

// ---- who comes in ----

TEST_F(Tls, AnotherJobsCertificateIsRefusedOnBothSides) {
  Node server(with_tls(kServer, files("a")));
  Node worker(with_tls(kWorker, files("b")));
  worker.connect(kServer, server.listen("127.0.0.1:0"));
  ASSERT_TRUE(worker.wait_for_log("certificate of the same job"));
  ASSERT_TRUE(server.wait_for_strangers(1));
  ASSERT_TRUE(server.wait_for_log("TLS"));
  EXPECT_TRUE(server.events().empty());
  EXPECT_TRUE(worker.events().empty());
}

TEST_F(Tls, OneSideWithoutTlsIsRefused) {
  const TlsFiles made = files();
  Node server(with_tls(kServer, made));
  Node plain(options_of(kWorker));
  plain.connect(kServer, server.listen("127.0.0.1:0"));
  ASSERT_TRUE(server.wait_for_strangers(1));
  ASSERT_TRUE(server.wait_for_log("both sides need TLS"));
  ASSERT_TRUE(plain.wait_for_log("TLS"));

  Node plain_server(options_of(server_node(1)));
  Node worker(with_tls(kWorker, made));
  worker.connect(server_node(1), plain_server.listen("127.0.0.1:0"));
  ASSERT_TRUE(plain_server.wait_for_strangers(1));
  EXPECT_TRUE(server.events().empty());
  EXPECT_TRUE(plain_server.events().empty());
}

// The certificate alone opens nothing: the secret is asked for inside.
TEST_F(Tls, TheSecretIsStillNeeded) {
  const TlsFiles made = files();
  Node server(with_tls(kServer, made));
  TransportOptions wrong = with_tls(kWorker, made);
  wrong.secret = testing::secret_of(2);
  Node worker(wrong);
  worker.connect(kServer, server.listen("127.0.0.1:0"));
  ASSERT_TRUE(server.wait_for_log("does not know this job's secret"));
  EXPECT_TRUE(server.events().empty());
}

// OpenSSL's own client: what it gets to read after a whole handshake, or why there is none.
class Client {
 public:
  explicit Client(int version) : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_max_proto_version(context_, version);
  }
  ~Client() { SSL_CTX_free(context_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void show(const TlsFiles& files) {
    ASSERT_EQ(SSL_CTX_use_certificate_chain_file(context_, files.certificate.c_str()), 1);
    ASSERT_EQ(SSL_CTX_use_PrivateKey_file(context_, files.key.c_str(), SSL_FILETYPE_PEM), 1);
  }

  // True if the server speaks with us: answers a hello of the job's handshake.
  bool answered(const std::string& address) {
    BIO* bio = BIO_new_ssl_connect(context_);
    BIO_set_conn_hostname(bio, address.c_str());
    const std::string hello =
        wire::Handshake::initiator({kWorker, "job-1", testing::secret_of(1)}, kServer, {}).begin();
    bool good = BIO_do_connect(bio) == 1 && BIO_do_handshake(bio) == 1;
    good = good && BIO_write(bio, hello.data(), static_cast<int>(hello.size())) > 0;
    char first = 0;
    good = good && BIO_read(bio, &first, 1) == 1 && first == 'P';
    BIO_free_all(bio);
    return good;
  }

 private:
  SSL_CTX* context_;
};

TEST_F(Tls, OnlyVersionOnePointThreeWithTheJobsCertificate) {
  const TlsFiles made = files();
  Node server(with_tls(kServer, made));
  const std::string address = server.listen("127.0.0.1:0");

  Client right(TLS1_3_VERSION);
  right.show(made);
  EXPECT_TRUE(right.answered(address));
  Client nobody(TLS1_3_VERSION);
  EXPECT_FALSE(nobody.answered(address));
  Client old(TLS1_2_VERSION);
  old.show(made);
  EXPECT_FALSE(old.answered(address));
  Client other(TLS1_3_VERSION);
  other.show(files("b"));
  EXPECT_FALSE(other.answered(address));

  ASSERT_TRUE(server.wait_for_strangers(4));
  EXPECT_TRUE(server.events().empty());
}

// TLS is for the network: a Unix socket has the file's mode, and the secret as everywhere.
TEST_F(Tls, UnixSocketsStayAsTheyAre) {
  const TlsFiles made = files();
  Node server(with_tls(kServer, made));
  Node worker(options_of(kWorker));
  worker.connect(kServer, server.listen("unix:" + folder_ + "/s"));
  EXPECT_TRUE(worker.wait_for_event("up server 0"));
}

}  // namespace
}  // namespace paceline::net
