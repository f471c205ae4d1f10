package flat

func Fb() {}
