#include "paceline/net/event_loop.h"
