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
		Do: "Do what the message says; `agent COMMAND --help` shows what there is.", Page: "reference/commands.md"},
	{ID: AgentFile, Means: "The agent's own file cannot be read, or `--conf` names another one than is there.",
		Do:   "Correct the path or the file: `/etc/netwright/agent.yaml` is read where nothing else is said.",
		Page: "documents.md"},
	{ID: KeyUnknown, Means: "No task of this node has that key.",
		Do:   "Take one that the message or `agent --dry-run` lists: a key is `kind:name`.",
		Page: "reference/commands.md"},
	{ID: RevisionMissing, Means: "The ledger keeps no revision of that number.",
		Do: "Take one that `agent history` lists: the last ten are kept.", Page: "operations.md"},
	{ID: PlanStale, Means: "The plan that `agent apply` was given is not what would change now, or is no plan.",
		Do:   "Make it anew with `agent plan --out FILE`, look at it, and apply that.",
		Page: "reference/commands.md"},
	{ID: Other, Means: "An error without a section of its own.",
		Do: "Do what the message says. If it says nothing, report it with `agent support`.", Page: "operations.md"},
}
