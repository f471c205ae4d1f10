// Package host, with the packages below it, is the only one that touches the machine: files,
// sysctls, modules, netlink, nft, systemd, exec and facts. Below it each is a room with a Reader
// and a Writer (docs/adr/0025); here they are put together.
//
// It has two faces. [View] reads and has no method that writes, so that a plan cannot write by its
// type. [Host] is a view that can also write; only the apply step of a pass holds one. [Pending]
// lays over a view what upstream tasks plan to change, so that a dry run knows that a link will
// exist when an address is set on it.
//
// It protects from torn files (see hostfs/batch.go) and from leaving the root it was given (see
// hostpath/open.go). It does not protect from another program that writes the same keys at the
// same time: the next pass sees that as drift.
package host
