"""An independent witness: co-signs the checkpoints of logs that only grow, and refuses a log that was forked."""
