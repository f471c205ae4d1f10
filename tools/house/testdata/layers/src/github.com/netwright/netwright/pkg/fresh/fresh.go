package fresh // want `package pkg/fresh has no place in the architecture`
