// Package inbound has nodes prove to each other that they are reached: a node that is about to make
// a change asks a few peers to knock on its ports, before the change and after it.
//
// Who asks whom follows from the names of the Nodes alone (rendezvous hashing), so each agent
// watches a few Nodes by name, and no list. A question is an annotation on the asking node's own
// Node, the answers are one on each peer's own: a kubelet may change its own Node and no other.
//
// A peer connects to the InternalIP of the Node that asks, as the API has it, and to nothing else:
// to at most [MaxPorts] ports in each family, once a second, and it sends no byte. One that is in
// the middle of a change of its own says so, and does not count.
//
// Without an API the agent's own file states peers ([Static]), and whom the node answers
// ([Responder]). See docs/adr/0005.
package inbound

import (
	"context"
	"encoding/json"

	"github.com/netwright/netwright/pkg/kube"
)

// MaxPorts is how many ports a node may have its peers knock on.
const MaxPorts = 16

// API is what nodes speak through. Reading is of any Node, writing of the node's own.
type API interface {
	// NodeName is the name of the node's own Node, of which the agent has this one.
	NodeName(node string) string
	Names(ctx context.Context) ([]string, error)
	Node(ctx context.Context, name string) (*kube.Node, error)
	// Changed waits until a Node is otherwise than in a version.
	Changed(ctx context.Context, name, version string) error
	// Annotate sets an annotation of the node's own Node; "" takes it away.
	Annotate(ctx context.Context, own, key, value string) error
}

// question is what a node asks. An agent of another release may say more.
type question struct {
	Nonce string   `json:"nonce"`
	Ports []uint16 `json:"ports"`
}

// answer is what a peer says to one who asks.
type answer struct {
	Nonce string   `json:"nonce"`
	Open  []string `json:"open,omitempty"` // "tcp4:22"
	Busy  bool     `json:"busy,omitempty"` // it is in the middle of a change, and has not knocked
}

// read decodes an annotation; what cannot be read says nothing.
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
