// Command knocks is a peer of the node that the witness looks at: it answers as another node's
// daemon does whom the agent's file states, and is never in the middle of a change.
//
//	knocks KEYFILE RANGE...
package main

import (
	"context"
	"net/netip"
	"os"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/inbound"
)

func main() {
	log, err := zap.NewDevelopment()
	if err != nil {
		panic(err)
	}
	s := inbound.Static{KeyFile: os.Args[1], Port: agentfile.DefaultPeersPort}
	for _, answer := range os.Args[2:] {
		s.Answer = append(s.Answer, netip.MustParsePrefix(answer))
	}
	r := &inbound.Responder{Static: s, Busy: func() bool { return false }, Log: log}
	r.Run(context.Background()) // until it is killed
}
