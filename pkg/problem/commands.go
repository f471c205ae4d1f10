package problem

// The errors of command lines, and the identifier of all errors without one of their own.
const (
	Usage           ID = "usage"
	AgentFile       ID = "agent-file"
	KeyUnknown      ID = "key-unknown"
	RevisionMissing ID = "revision-missing"
	PlanStale       ID = "plan-stale"
	Other           ID = "other"
)

var commands = []Row{
	{ID: Usage, Means: "The command line is not one that the agent knows.",
		Do: "Do what the message says; `agent COMMAND --help` lists the arguments and flags.", Page: "reference/commands.md"},
	{ID: AgentFile, Means: "The agent's own file cannot be read, or `--conf` names a file that does not exist.",
		Do:   "Correct the path or the file. The default path is `/etc/netwright/agent.yaml`.",
		Page: "documents.md"},
	{ID: KeyUnknown, Means: "No task of this node has that key.",
		Do:   "Use a key that the message or `agent --dry-run` lists: a key is `kind:name`.",
		Page: "reference/commands.md"},
	{ID: RevisionMissing, Means: "The ledger keeps no revision of that number.",
		Do: "Use a revision that `agent history` lists: the last ten are kept.", Page: "operations.md"},
	{ID: PlanStale, Means: "The plan that `agent apply` was given differs from what would change now, or the " +
		"file is not a plan.",
		Do:   "Make a new plan with `agent plan --out FILE`, look at it, and apply it.",
		Page: "reference/commands.md"},
	{ID: Other, Means: "An error without a section of its own.",
		Do: "Do what the message says. If it says nothing, report it with `agent support`.", Page: "operations.md"},
}
