// Coil's plugin, pinned: a module of its own, so that the agent does not carry what it needs.
module github.com/netwright/netwright/test/plugins/modules/coil

go 1.26.5

require (
	github.com/containernetworking/cni v1.3.0 // indirect
	github.com/cybozu-go/coil/v2 v2.15.0 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.38.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260414002931-afd174a4e478 // indirect
	google.golang.org/grpc v1.82.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)

tool github.com/cybozu-go/coil/v2/cmd/coil
