# An AMI of Debian with the agent baked in, made on a machine of EC2's.
#
#   packer validate -var deb=bin/release/netwright_1.2.3_amd64.deb images/packer/ebs.pkr.hcl
#   packer build -var deb=bin/release/netwright_1.2.3_amd64.deb -var 'bake=--store s3://config/fleet --cluster demo.example.com --node-group nodes --trusted-key RWQ…' images/packer/ebs.pkr.hcl

variable "deb" {
  type        = string
  description = "The agent's package for the architecture of the machine, as make release makes it."
}

variable "bake" {
  type        = string
  default     = ""
  description = "Flags that name the documents whose plugins, files and units are baked in; without them the agent alone."
}

variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "instance_type" {
  type    = string
  default = "t3.small"
}

variable "arch" {
  type        = string
  default     = "amd64"
  description = "amd64 or arm64: of the AMI to begin with, of the agent, and of the instance type."
}

variable "instance_profile" {
  type        = string
  default     = ""
  description = "The role that may read the store while the image is made."
}

source "amazon-ebs" "debian" {
  region               = var.region
  instance_type        = var.instance_type
  iam_instance_profile = var.instance_profile
  ami_name             = "netwright-debian-12-${var.arch}-{{timestamp}}"
  ami_description      = "Debian 12 with Netwright"
  ssh_username         = "admin"
  ena_support          = true

  source_ami_filter {
    owners      = ["136693071363"] # Debian: https://wiki.debian.org/Cloud/AmazonEC2Image
    most_recent = true
    filters = {
      name                = "debian-12-${var.arch}-*"
      root-device-type    = "ebs"
      virtualization-type = "hvm"
    }
  }

  tags = {
    Name = "netwright-debian-12-${var.arch}"
  }
}

build {
  sources = ["source.amazon-ebs.debian"]

  provisioner "file" {
    source      = var.deb
    destination = "/tmp/netwright.deb"
  }

  provisioner "file" {
    source      = "${path.root}/../clean"
    destination = "/tmp/clean"
  }

  provisioner "shell" {
    execute_command  = "sudo env {{ .Vars }} sh {{ .Path }}"
    script           = "${path.root}/provision"
    environment_vars = ["BAKE=${var.bake}"]
  }
}
