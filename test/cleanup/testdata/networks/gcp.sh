. ./networks/kubenet.sh
