package network

// awaited is the Build of a network whose conf somebody else writes, and of which data says all the
// rest.
func awaited(file, writer string) func(Input) (Built, error) {
	return func(in Input) (Built, error) { return in.awaits(file, writer), nil }
}

// awaits is what such a network adds to the node: the check of that conf.
func (in Input) awaits(file, writer string) Built {
	return Built{KubeletPlugin: "cni", Wait: in.waitConf(file, writer)}
}

// gone is the Build of a network that [Network.Judge] refuses: there is nothing to make.
func gone(Input) (Built, error) { return Built{}, nil }
