// Package verify checks a node against the needs of its network without sending packets: the conf
// in force, plugins, the container runtime, health checks. It also finds which networks left things
// on a host. Package traffic below it proves the network with packets, with test pods of package
// testpod. Package probe sends queries over the network.
package verify
