package host

import "github.com/netwright/netwright/pkg/host/facts"

// These are the types of package facts under the same names, as package os has those of io/fs. A
// caller that reads facts takes them from a [View], and needs no import of package facts.
type (
	Facts        = facts.Facts
	KernelFacts  = facts.KernelFacts
	LinkFact     = facts.LinkFact
	RuntimeFacts = facts.RuntimeFacts
	KubeletFacts = facts.KubeletFacts
	Instance     = facts.Instance
)
