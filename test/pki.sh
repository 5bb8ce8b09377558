# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by tests: makes certificates in the current folder, with openssl.
# pki_ca NAME; pki_cert NAME CA USAGE ALTERNATIVES [SUBJECT]: NAME.pem, NAME.key; USAGE:
# serverAuth, clientAuth; ALTERNATIVES: DNS:x,email:y; SUBJECT: /CN=NAME by default.
# pki_expired: the same, valid in January 2020.
pki_ca() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>/dev/null
}
pki_request() { # name subject
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null && chmod 600 "$1.key"
}
pki_cert() {
	pki_request "$1" "${5:-/CN=$1}" &&
		openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -out "$1.pem" \
			-extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=%s\n' "$4" "$3") 2>/dev/null
}
pki_expired() {
	pki_request "$1" "${5:-/CN=$1}" || return 1
	: >"$1.index"
	printf '[ca]\ndefault_ca=c\n[c]\ndatabase=%s.index\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n' "$1" >"$1.cnf"
	openssl ca -batch -notext -config "$1.cnf" -cert "$2.pem" -keyfile "$2.key" -in "$1.csr" -out "$1.pem" -startdate 20200101000000Z -enddate 20200201000000Z \
		-extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=%s\n' "$4" "$3") 2>/dev/null
}
