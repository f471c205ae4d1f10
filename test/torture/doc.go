// Package torture proves what must never happen: the agent is killed at each of its system calls,
// the power is cut while it writes, every call fails once, everything that it reads is hostile.
// What lies there afterwards is judged by stat, sha256, ip and nft, never by our code.
//
// `go test ./...` runs a short form of each suite; `make torture` (NETWRIGHT_TORTURE=full) runs
// them in full and ends with a table: suite, tried, lost. Each test names the line that keeps its
// promise: take it out, and the test turns red.
package torture
