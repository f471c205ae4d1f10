package firewall

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Constants of linux/netfilter/ipset/ip_set.h. Rules name a set by a number from the kernel. Only
// this socket option returns the name of that number.
const (
	ipsetOption      = 83 // SO_IP_SET
	ipsetGetByIndex  = 7  // IP_SET_OP_GET_BYINDEX
	ipsetRequestSize = 8 + 32
)

// setNames caches the names of sets by number, during one read.
type setNames map[uint16]string

// name reads the set's number from a match or target of xt_set, of any revision, and returns the
// set's name. It is "" if the set is gone by now.
func (s setNames) name(data []byte) (string, error) {
	if len(data) < 2 {
		return "", nil
	}
	index := binary.NativeEndian.Uint16(data)
	if name, known := s[index]; known {
		return name, nil
	}
	// struct ip_set_req_get_set: operation, protocol, number. The kernel writes the name over the
	// number.
	request := make([]byte, ipsetRequestSize)
	binary.NativeEndian.PutUint32(request, ipsetGetByIndex)
	binary.NativeEndian.PutUint32(request[4:], ipsetProtocol)
	binary.NativeEndian.PutUint16(request[8:], index)
	err := socketOption(unix.AF_INET, unix.IPPROTO_IP, ipsetOption, request)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return "", nil // the kernel has no ip_set any more
	}
	if err != nil {
		return "", fmt.Errorf("read the name of ipset number %d: %w", index, err)
	}
	s[index] = unix.ByteSliceToString(request[8:])
	return s[index], nil
}
