/* aisbx-more's answer to "can this process read YAML". */
#include "app/run/engine.h"

const bool engine_reads_yaml = true;
