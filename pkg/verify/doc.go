// Package verify is the proof that pods can talk: it adds pods as a container
// runtime does, through the CNI conf and plugins that the runtime would use,
// and sends packets from them. ICMP is done here, so that a node needs no ping.
//
// It changes the host by what the plugins do and takes that back with
// [testpod.Pod.Remove]; a plugin may leave something behind all the same, such as a
// bridge or an empty chain. It does not prove that a container runtime has
// loaded the conf.
package verify
