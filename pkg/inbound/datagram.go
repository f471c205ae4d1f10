package inbound

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/secret"
)

// A question is a datagram of fixed size: its kind, a nonce, the number of ports, the ports, and an
// HMAC-SHA256. An answer is smaller: its kind, the nonce, whether the peer was busy, a bit for each
// port, and an HMAC-SHA256. The HMAC also covers the address of the asking node. So a peer does not
// connect to another host when somebody sends a copy of a question, and an answer fits only one
// question.
const (
	nonceSize    = 16
	questionSize = 1 + nonceSize + 1 + 2*MaxPorts + sha256.Size
	answerSize   = 1 + nonceSize + 1 + MaxPorts/8 + sha256.Size

	isQuestion, isAnswer = 'q', 'a'
)

var errSilent = errors.New("no answer")

// datagramQuestion is a question to a stated peer.
type datagramQuestion struct {
	nonce [nonceSize]byte
	ports []uint16
}

// seal returns the datagram of a question from an address.
func (q datagramQuestion) seal(key secret.Text, asker netip.Addr) []byte {
	body := make([]byte, 0, questionSize)
	body = append(append(body, isQuestion), q.nonce[:]...)
	body = append(body, byte(len(q.ports)))
	for _, port := range q.ports {
		body = binary.BigEndian.AppendUint16(body, port)
	}
	return sealed(key, asker, body[:questionSize-sha256.Size])
}

// openQuestion parses a datagram from an address. ok reports whether it is a question with a valid
// HMAC.
func openQuestion(key secret.Text, asker netip.Addr, datagram []byte) (q datagramQuestion, ok bool) {
	body, ok := opened(key, asker, datagram, isQuestion, questionSize)
	if !ok {
		return q, false
	}
	copy(q.nonce[:], body[1:])
	count, ports := int(body[1+nonceSize]), body[1+nonceSize+1:]
	for i := range min(count, MaxPorts) {
		q.ports = append(q.ports, binary.BigEndian.Uint16(ports[2*i:]))
	}
	return q, true
}

// answered returns the datagram that answers a question from an address.
func (q datagramQuestion) answered(key secret.Text, asker netip.Addr, a answer) []byte {
	body := make([]byte, answerSize-sha256.Size, answerSize)
	body[0] = isAnswer
	copy(body[1:], q.nonce[:])
	if a.Busy {
		body[1+nonceSize] = 1
	}
	for i, port := range q.ports {
		if slices.Contains(a.Open, name(asker.Unmap().Is4(), port)) {
			body[1+nonceSize+1+i/8] |= 1 << (i % 8)
		}
	}
	return sealed(key, asker, body)
}

// openAnswer parses a datagram. ok reports whether it is a valid answer to the question.
func openAnswer(key secret.Text, asker netip.Addr, q datagramQuestion, datagram []byte) (a answer, ok bool) {
	body, ok := opened(key, asker, datagram, isAnswer, answerSize)
	if !ok || [nonceSize]byte(body[1:]) != q.nonce {
		return a, false
	}
	a.Busy = body[1+nonceSize] != 0
	for i, port := range q.ports {
		if body[1+nonceSize+1+i/8]&(1<<(i%8)) != 0 {
			a.Open = append(a.Open, name(asker.Unmap().Is4(), port))
		}
	}
	return a, true
}

// sealed appends the HMAC to a body.
func sealed(key secret.Text, asker netip.Addr, body []byte) []byte {
	address := asker.Unmap().As16()
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	mac.Write(body)
	mac.Write(address[:])
	return mac.Sum(body)
}

// opened returns the body of a datagram. ok reports whether its kind, its size and its HMAC are
// right.
func opened(key secret.Text, asker netip.Addr, datagram []byte, kind byte, size int) (body []byte, ok bool) {
	if len(datagram) != size || datagram[0] != kind {
		return nil, false
	}
	body = slices.Clip(datagram[:size-sha256.Size])
	return body, hmac.Equal(sealed(key, asker, body), datagram)
}
