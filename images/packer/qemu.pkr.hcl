# A raw disk of Debian's own cloud image with the agent baked in. Beside it, images/build makes one from nothing, without a machine that runs.
#
#   packer validate -var deb=bin/release/netwright_1.2.3_amd64.deb -var image=debian-12-genericcloud-amd64.qcow2 -var checksum=sha512:… images/packer/qemu.pkr.hcl

variable "deb" {
  type        = string
  description = "The agent's package for amd64, as make release makes it."
}

variable "image" {
  type        = string
  description = "Debian's image for clouds, a path or a URL, such as debian-12-genericcloud-amd64.qcow2."
}

variable "checksum" {
  type        = string
  description = "What it must have, as sha512:HEX: Debian's SHA512SUMS has it."
}

variable "bake" {
  type        = string
  default     = ""
  description = "Flags that name the documents whose plugins, files and units are baked in; without them the agent alone."
}

variable "size" {
  type    = string
  default = "4G"
}

variable "accelerator" {
  type        = string
  default     = "kvm"
  description = "tcg where there is no KVM: then it takes minutes."
}

# The machine is reached from this one alone, by a password that it has while the image is made.
source "qemu" "debian" {
  iso_url          = var.image
  iso_checksum     = var.checksum
  disk_image       = true
  disk_size        = var.size
  format           = "raw"
  accelerator      = var.accelerator
  machine_type     = "q35"
  memory           = 1024
  headless         = true
  http_directory   = "${path.root}/seed"
  qemuargs         = [["-smbios", "type=1,serial=ds=nocloud-net;seedfrom=http://{{ .HTTPIP }}:{{ .HTTPPort }}/"]]
  ssh_username     = "packer"
  ssh_password     = "packer"
  ssh_timeout      = "20m"
  shutdown_command = "sudo sh -c 'userdel -rf packer; rm -f /etc/sudoers.d/90-cloud-init-users; systemctl poweroff'"
  output_directory = "netwright-image"
  vm_name          = "netwright.raw"
}

build {
  sources = ["source.qemu.debian"]

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
