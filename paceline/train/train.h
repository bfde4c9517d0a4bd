#pragma once

// All that a program needs which trains its own LibTorch model with Paceline.

#include "paceline/train/catalog.h"
#include "paceline/train/data.h"
#include "paceline/train/model.h"
#include "paceline/train/process.h"
#include "paceline/train/serial.h"
#include "paceline/train/source.h"
#include "paceline/train/task.h"
#include "paceline/train/worker_main.h"
