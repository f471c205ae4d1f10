package kubeapi

import (
	"io"
	"net"

	"github.com/netwright/netwright/test/netns"
)

// forward lets this process reach the server in its namespace: what comes in on a port of the
// loopback goes on there. It returns the address.
func (s *Server) forward() string {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatalf("listening for who wants to reach kube-apiserver: %v", err)
	}
	s.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go s.carry(in)
		}
	}()
	return listener.Addr().String()
}

// carry joins one connection with one of its own to the server.
func (s *Server) carry(in net.Conn) {
	defer in.Close()
	var out net.Conn
	err := netns.In(s.netns, func() (err error) {
		out, err = net.Dial("tcp4", net.JoinHostPort(s.address, port))
		return err
	})
	if err != nil { // it is not up: whoever asks sees a connection that ends
		return
	}
	defer out.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{out, in}, {in, out}} {
		go func() {
			io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}
