#pragma once

#include <memory>
#include <string>

#include "paceline/base/result.h"

// TLS between the processes of a job: version 1.3, both sides show a certificate. One certificate
// is made for each job; all its processes share it and trust it alone, no authority beside it.
namespace paceline::net {

struct TlsFiles {
  std::string certificate;  // PEM
  std::string key;          // PEM; whoever can read it can speak for the job
};

// Makes job.crt and job.key in the folder (mode 0600): ECDSA P-256, self-signed, valid from an hour
// ago (clocks differ) for 30 days. Refused if they cannot be written.
Result<TlsFiles> make_job_certificates(const std::string& folder);

// A certificate, read and ready for connections.
class TlsContext;

// NotFound, Refused or Corruption, naming the file.
Result<std::shared_ptr<TlsContext>> load_tls(const TlsFiles& files);

}  // namespace paceline::net
