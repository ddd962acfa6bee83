// The system calls that Swift's own C modules import badly or not at all.
//
// Every function returns -1 with `errno` set when it fails, unless its comment says otherwise, and starts again by
// itself when a signal interrupts it. Nothing here keeps state but the fork counter and what is
// still to be closed.
#ifndef C_PORT_SHIMS_H
#define C_PORT_SHIMS_H

#include "port_clock.h"
#include "port_closing.h"
#include "port_io.h"
#include "port_memory.h"
#include "port_place.h"
#include "port_poller.h"
#include "port_process.h"
#include "port_processors.h"
#include "port_shared.h"
#include "port_standard.h"
#include "port_thread.h"

#endif
