// Package cri asks a container runtime, by CRI over its socket: its status,
// the pods that it runs and what its log says of them. Of all this only
// [RemovePod] changes anything.
package cri
