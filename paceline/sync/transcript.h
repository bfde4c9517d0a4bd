#pragma once

#include <string>
#include <string_view>

#include "paceline/base/result.h"
#include "paceline/sync/policy.h"

// Conversations with a policy as text: an event a line, after the arrow what the policy answers, in
// the line below why.
//
//   push 1 step=0 at=3              -> apply 0#0+1#0; release 0 1
//       barrier of superstep 1: the mean of 2 pushes, 2 workers go on
//
// An event: "join 0", "leave 0", "push 0 step=1", with "life=2" and "at=1.5" (seconds) where they
// matter. An update is "apply 0#1", the mean of several "apply 0#1+1#0", a push of a later life
// "0#1/2". "-": nothing to do.
namespace paceline::sync {

std::string to_string(const Event& event);
std::string to_string(const Decision& decision);
// event: as to_string() or a person writes it. With the line of the reason, if there is one.
std::string exchange_text(std::string event, const Decision& decision);

// now: what holds if the text has no "at=".
Result<Event> parse_event(std::string_view text, Time now);

}  // namespace paceline::sync
