package flat

func Fa() {}
