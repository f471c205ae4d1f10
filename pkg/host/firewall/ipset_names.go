package firewall

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// What linux/netfilter/ipset/ip_set.h calls them: rules name sets by a number that the kernel gave,
// and only this option of a socket turns it into the name.
const (
	ipsetOption      = 83 // SO_IP_SET
	ipsetGetByIndex  = 7  // IP_SET_OP_GET_BYINDEX
	ipsetRequestSize = 8 + 32
)

// setNames knows the names of sets by their numbers, as of one reading.
type setNames map[uint16]string

// name reads the number from a match or target of xt_set, of any revision, and returns the set's
// name; "" if it went meanwhile.
func (s setNames) name(data []byte) (string, error) {
	if len(data) < 2 {
		return "", nil
	}
	index := binary.NativeEndian.Uint16(data)
	if name, known := s[index]; known {
		return name, nil
	}
	// struct ip_set_req_get_set: operation, protocol, then the number, over which the name is
	// written.
	request := make([]byte, ipsetRequestSize)
	binary.NativeEndian.PutUint32(request, ipsetGetByIndex)
	binary.NativeEndian.PutUint32(request[4:], ipsetProtocol)
	binary.NativeEndian.PutUint16(request[8:], index)
	err := socketOption(unix.AF_INET, unix.IPPROTO_IP, ipsetOption, request)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return "", nil // no ip_set in this kernel any more
	}
	if err != nil {
		return "", fmt.Errorf("read the name of ipset number %d: %w", index, err)
	}
	s[index] = unix.ByteSliceToString(request[8:])
	return s[index], nil
}
