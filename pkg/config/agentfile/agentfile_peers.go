package agentfile

import (
	"fmt"
	"net/netip"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/plural"
)

// Peers are nodes that connect to each other's ports for probes without the Kubernetes API.
type Peers struct {
	// KeyFile: Names a file of mode 0600 with the secret that all peers share, such as 32 random
	// bytes in base64.
	KeyFile string `json:"keyFile,omitempty"`
	// Port: Sets the UDP port on which the peers answer.
	Port int `json:"port,omitempty"`
	// Ask: Lists addresses of at most 8 nodes. Before and after a change that may cut the node off,
	// the agent asks them to connect to its ports.
	Ask []netip.Addr `json:"ask,omitempty"`
	// Answer: Lists ranges of addresses. The daemon answers the nodes that have an address in them.
	// Without a range, the daemon does not listen.
	Answer []netip.Prefix `json:"answer,omitempty"`
}

// DefaultPeersPort is the port after that of the metrics.
const DefaultPeersPort = 19871

// MaxAsked bounds how many peers a node asks.
const MaxAsked = 8

// peerFields reads the peers. It reports an error if there is no key, or if there are neither peers
// to ask nor ranges to answer.
func peerFields(p *Peers) decode.Set {
	return func(v decode.Reading) {
		p.Port = DefaultPeersPort
		errors := v.Doc.Diags.HasErrors()
		v.Mapping([]decode.Field{
			decode.AbsolutePath("keyFile", &p.KeyFile),
			decode.Number("port", &p.Port, 1, 65535),
			decode.EachAddress("ask", &p.Ask),
			decode.Ranges("answer", &p.Answer),
		})
		if v.Describing() || !errors && v.Doc.Diags.HasErrors() {
			return
		}
		complain := func(summary, expected string) {
			v.Error(document.Diagnostic{Summary: v.Path + " " + summary, Expected: expected})
		}
		switch {
		case p.KeyFile == "":
			complain("has no keyFile", "keyFile: the path of a file with the secret that all peers share")
		case len(p.Ask) == 0 && len(p.Answer) == 0:
			complain("neither asks nor answers", "ask with addresses of peers, answer with ranges of theirs, or both")
		case len(p.Ask) > MaxAsked:
			complain("asks "+plural.Of(len(p.Ask), "peer"), fmt.Sprintf("at most %d addresses", MaxAsked))
		}
	}
}
