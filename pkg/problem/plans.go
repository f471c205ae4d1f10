package problem

// The errors of the tasks that a node's documents make.
const (
	Plan           ID = "plan"
	NetworkUnfit   ID = "network-unfit"
	KernelUnfit    ID = "kernel-unfit"
	SysctlConflict ID = "sysctl-conflict"
	SysctlHarm     ID = "sysctl-harm"
	SysctlUnknown  ID = "sysctl-unknown"
	KeyTwice       ID = "key-twice"
	KeypairMissing ID = "keypair-missing"
	KeypairExpired ID = "keypair-expired"
	KeypairExposed ID = "keypair-exposed"
	AssetMissing   ID = "asset-missing"
	AssetWrong     ID = "asset-wrong"
	PlanWarning    ID = "plan-warning"
)

var plans = []Row{
	{ID: Plan, Means: "The documents are right, but no tasks can be built from them for this node.",
		Do: "Do what the message says; `agent store check` gives it for each group and node before anything is " +
			"published.", Page: "command-line.md"},
	{ID: NetworkUnfit, Means: "The network cannot work on this node: its release of Kubernetes, its cloud or " +
		"its addresses do not allow it.", Do: "Choose the network that the message names, or change what it needs.",
		Page: "networks/README.md"},
	{ID: KernelUnfit, Means: "The kernel of the node lacks what the network needs.",
		Do: "Boot a kernel that has it, or choose another network.", Page: "networks/README.md"},
	{ID: SysctlConflict, Means: "The documents set a sysctl to a value with which the network cannot work, or twice.",
		Do: "Take the line out of `sysctlParameters`.", Page: "networks/README.md"},
	{ID: SysctlHarm, Means: "The value of a sysctl would take the node off the network.",
		Do: "Choose one that the message names."},
	{ID: SysctlUnknown, Means: "There is no such sysctl in a kernel, or it does not take this value.",
		Do: "Correct the name or the value, as the message says."},
	{ID: KeyTwice, Means: "Two parts of the documents set one file, unit or sysctl to different values.",
		Do: "Take one of them out: the message names both places."},
	{ID: KeypairMissing, Means: "A certificate or a key that the network needs is not in the store.",
		Do: "Put it below `pki/`, or have it issued by `spec.certificates`.", Page: "certificates.md"},
	{ID: KeypairExpired, Means: "A certificate in the store has expired, or is not valid yet.",
		Do: "Issue a new one, put it below `pki/`, and publish.", Page: "certificates.md"},
	{ID: KeypairExposed,
		Means: "Every node can read the private key of a CA, or a secret content of the documents. A secret " +
			"content is an error where documents are checked, and a warning elsewhere.",
		Do: "Put the content below `files/` and name it by `source`, or set `secret: false`. Replace the old " +
			"keys by new ones, publish, and remove the old ones.", Page: "security.md"},
	{ID: AssetMissing, Means: "A file that documents name below `assets/` is not in the store, or an archive lacks a " +
		"member.", Do: "Put it there, or give its URL.", Page: "documents.md"},
	{ID: AssetWrong, Means: "A file below `assets/` has another hash than the documents say.",
		Do:   "Correct the hash, or bring the file that has it. Compare with what its maker publishes.",
		Page: "documents.md"},
	{ID: PlanWarning, Warning: true, Means: "A plan of these documents warns of this.",
		Do: "Do what the message says. `--strict` makes warnings errors.", Page: "networks/README.md"},
}
