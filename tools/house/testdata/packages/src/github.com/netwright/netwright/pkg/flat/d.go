package flat

func Fd() {}
