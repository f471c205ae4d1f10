package problem

// The errors that keep a node as it is.
const (
	NodePaused        ID = "node-paused"
	ChangeUnconfirmed ID = "change-unconfirmed"
	ChangeUndone      ID = "change-undone"
	ChangeRefused     ID = "change-refused"
	SwitchNotAllowed  ID = "switch-not-allowed"
)

var blocked = []Row{
	{ID: NodePaused, Means: "The node is paused or held at a revision, and nothing was changed.",
		Do:   "`agent status` says by whom and until when; `agent resume` has the node follow the store again.",
		Page: "operations.md"},
	{ID: ChangeUnconfirmed, Means: "A change awaits its confirmation, and nothing else is changed meanwhile.",
		Do:   "Log in again and run `agent confirm` there, or undo the change with `agent undo`.",
		Page: "operations.md"},
	{ID: ChangeUndone, Means: "A change was undone: a probe that passed before the change failed after it, " +
		"or the change did not end.",
		Do:   "Change the documents: the message names what failed. `agent history` has what was undone.",
		Page: "operations.md"},
	{ID: ChangeRefused, Means: "A change was not made, because it could not have been undone.",
		Do: "Do what the message says: the disk may be full, or the change too large.", Page: "operations.md"},
	{ID: SwitchNotAllowed, Means: "Another network is wanted, which interrupts pods, and nobody allowed that.",
		Do:   "Look with `agent --dry-run` at what the switch does. Then write what the message says.",
		Page: "networks/README.md"},
}
