// Package inbound lets nodes prove that other nodes can reach them. Before and after a change a
// node asks a few peers to connect to its ports.
//
// The names of the Nodes alone decide which nodes ask which peers (rendezvous hashing). So each
// agent watches a few Nodes by name, and no list. A question is an annotation on the asking node's
// Node. An answer is an annotation on the peer's own Node, because a kubelet may change no other
// Node.
//
// A peer connects only to the InternalIP of the asking Node, as the API has it. It connects to at
// most [MaxPorts] ports in each address family, once a second, and sends no byte. A peer that makes
// a change itself answers that it is busy, and does not count.
//
// Without an API the agent's own file names the peers ([Static]) and the nodes that the node
// answers ([Responder]). See docs/adr/0005.
package inbound

import (
	"context"
	"encoding/json"

	"github.com/netwright/netwright/pkg/kube"
)

// MaxPorts is the maximum number of ports in a question.
const MaxPorts = 16

// API reads any Node, and writes the node's own Node.
type API interface {
	// NodeName returns the name of the node's own Node. node is the agent's name of it.
	NodeName(node string) string
	Names(ctx context.Context) ([]string, error)
	Node(ctx context.Context, name string) (*kube.Node, error)
	// Changed waits until a Node has another version.
	Changed(ctx context.Context, name, version string) error
	// Annotate sets an annotation of the node's own Node, or removes it if value is "".
	Annotate(ctx context.Context, own, key, value string) error
}

// question is what a node asks. An agent of a later release may add fields.
type question struct {
	Nonce string   `json:"nonce"`
	Ports []uint16 `json:"ports"`
}

// answer is a peer's answer to one node.
type answer struct {
	Nonce string   `json:"nonce"`
	Open  []string `json:"open,omitempty"` // "tcp4:22"
	Busy  bool     `json:"busy,omitempty"` // the peer makes a change itself and did not connect
}

// read decodes an annotation. It returns the zero value for text that it cannot decode.
func read[T any](text string) (it T) {
	if json.Unmarshal([]byte(text), &it) != nil {
		var nothing T
		return nothing
	}
	return it
}

// write encodes an annotation.
func write(what any) string {
	data, err := json.Marshal(what)
	if err != nil {
		return ""
	}
	return string(data)
}
