package host

import "github.com/netwright/netwright/pkg/host/facts"

// What facts are made of has the same names here, as os has those of io/fs: whoever reads facts
// takes them from a [View].
type (
	Facts        = facts.Facts
	OSRelease    = facts.OSRelease
	KernelFacts  = facts.KernelFacts
	LinkFact     = facts.LinkFact
	RuntimeFacts = facts.RuntimeFacts
	FlagFact     = facts.FlagFact
	KubeletFacts = facts.KubeletFacts
	KubeletCNI   = facts.KubeletCNI
	Instance     = facts.Instance
	ENI          = facts.ENI
)
