package flat

func Fe() {}
