// Package torture proves what must never happen. It kills the agent at each of its system calls,
// cuts the power while the agent writes, makes every call fail once, and gives the agent hostile
// input. It judges the files and the network afterwards by stat, sha256, ip and nft, and never by
// code of the agent.
//
// `go test ./...` runs a short form of each suite. `make torture` (NETWRIGHT_TORTURE=full) runs the
// suites in full, and ends with a table: suite, tried, lost. Each test names the line that keeps
// its promise: without this line the test fails.
package torture
