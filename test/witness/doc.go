// Package witness draws documents at random, has booted nodes apply them, and looks from outside
// whether they cost the node its network. `make test` tries 25, `make witness` 400, `make torture`
// 2000.
//
// A document is drawn from a seed and its number, by strata: a sysctl, a file, a route, a hook, a
// name, the link's manager, a file that is read at boot. Values come from the whole of what each
// can say, and not from a list of what is known to do harm. Of twenty documents of a stratum
// fifteen or so are wild: they change so much of what the node's own network goes by, with values
// of such a range, that a third of them can be expected to cost it something. The others are near
// to what is there. So is the ground drawn on which a document meets a node: who manages its link,
// whether its address is leased, where its API server is, and whether the agent is killed in the
// middle.
//
// The witness is outside of the node and shares nothing with the agent. From beyond the gateway and
// from the link it knows sshd's line, an echo on 10250 of both families, 1 MiB each way, an echo of
// a pod; and whether what the node begins is answered: by a name server that it names, and by the
// API server, over a new connection and to the end. Twice a second it asks for each.
// None may be away for longer than the probes' window and 30 s; of a leased address, also once the
// lease was to be renewed; nor after a reboot, which the agent may follow by one more. Time in
// which the whole machine stands still is not counted ([Clock]).
//
// The proof is proved: with the checkpoint switched off at least 30 % of the documents must lose
// the node, and without any one of these rules ([Overlays]) one of 200 must. The names are those of
// the defects that each rule ended.
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
// What no rule keeps is not drawn, and is said where it would be: what stops a program (sshd's own
// unit), and what costs pods alone (their bridge and its sysctls, a switch of forwarding, chains
// that forward, the first of the CNI confs).
package witness
