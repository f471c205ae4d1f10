// Command peer is what a witness talks to: in the place of sshd and kubelet on a node, and of a
// program in its pod. It knows nothing of the agent.
//
//	peer PORT...
//
// Who connects to port 22 gets a line as sshd says it. On the others each byte asks for something:
// 'e' gets an 'e'; 'b' is followed by 1 MiB, and gets its SHA-256 and 1 MiB back.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/netwright/netwright/test/witness/bulk"
)

func main() {
	failed := make(chan error)
	for _, port := range os.Args[1:] {
		for _, family := range []string{"tcp4", "tcp6"} {
			go func() { failed <- listen(family, port) }()
		}
	}
	fmt.Fprintln(os.Stderr, "peer:", <-failed)
	os.Exit(1)
}

func listen(family, port string) error {
	l, err := net.Listen(family, ":"+port)
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close() // who asked judges
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			if port == "22" {
				_, _ = io.WriteString(conn, "SSH-2.0-peer\r\n")
				return
			}
			_ = answer(conn)
		}()
	}
}

// answer does what a connection asks for, until it ends.
func answer(conn net.Conn) error {
	asked := make([]byte, 1)
	for {
		if _, err := io.ReadFull(conn, asked); err != nil {
			return err
		}
		if asked[0] == 'e' {
			if _, err := conn.Write(asked); err != nil {
				return err
			}
			continue
		}
		sum := sha256.New()
		if _, err := io.CopyN(sum, conn, bulk.Size); err != nil {
			return err
		}
		if _, err := conn.Write(sum.Sum(nil)); err != nil {
			return err
		}
		if _, err := conn.Write(bulk.Bytes()); err != nil {
			return err
		}
	}
}
