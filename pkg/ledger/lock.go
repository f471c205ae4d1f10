package ledger

// LockFile is held for the length of a pass that may write.
const LockFile = "/run/netwright/lock"
