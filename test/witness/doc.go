// Package witness draws documents at random, has booted nodes apply them, and looks from outside
// whether they cost the node its network. `make test` tries 25, `make witness` 400, `make torture`
// 2000.
//
// A document is drawn from a seed and its number, by strata: a sysctl, a file, a route, a hook, a
// name, the link's manager, a file that is read at boot. Values come from the whole range of each
// field, and not from a list of harmful values. Of twenty documents of a stratum about fifteen are
// wild. They change so much of what the node's own network uses, with values of such a range, that
// a third of them can be expected to harm the network. The others differ little from the node's
// present state. The state of the node is drawn, too: which program manages its link, whether its
// address is leased, where its API server is, and whether the agent is killed in the middle.
//
// The witness is outside the node and shares nothing with the agent. From beyond the gateway and
// from the link it tests sshd's line, an echo on port 10250 of both families, 1 MiB each way, and
// an echo of a pod. It also tests connections that the node begins: to a name server of the node,
// and to the API server, over a new connection and to its end. It repeats each test twice a second.
// No test may fail for longer than the probes' window and 30 s. For a leased address this also
// holds after the time at which the lease is renewed. It also holds after a reboot, which the agent
// may follow by one more. Time in which the whole machine stands still does not count ([Clock]).
//
// The proof is tested, too. With the checkpoint switched off, at least 30 % of the documents must
// cut the node off. Without any one of these rules ([Overlays]), one of 200 must. Each rule has the
// name of the defect that it ended.
//
//	S1-1  the next hops of new default routes must resolve
//	S1-2  of each port that peers reached, one of them must reach it
//	S1-3  a hook is made under a checkpoint
//	S1-4  a sysctl is harmless by key and range only
//	S1-5  what acts at the next boot is judged by it
//	S1-6  an undo leaves the link's manager as it was
//	S1-7  that the undo can be run is tried before the change
//	S1-8  one of new name servers must answer
//	S1-9  a family is probed, with a default route or without
//
// Changes from which no rule protects are not drawn, and a comment in their place says so: changes
// that stop a program (sshd's own unit), and changes that harm only pods (their bridge and its
// sysctls, a switch of forwarding, chains that forward, the first of the CNI confs).
package witness
