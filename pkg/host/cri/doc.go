// Package cri asks a container runtime, by CRI over its socket, for its status and its pods. It
// also reads what the runtime's log says about pods. Only [RemovePod] changes anything.
package cri
