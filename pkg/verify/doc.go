// Package verify holds a node to what its network needs of it, by looking alone: the conf in force,
// plugins, the runtime, signs of life; and it says whose marks are on a host. What is proved with
// packets is below: package traffic, with test pods of package testpod. Package probe asks over the
// network.
package verify
