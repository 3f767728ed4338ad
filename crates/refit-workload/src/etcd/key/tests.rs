use super::*;

const RSA_PKCS1: &str = include_str!("../../../tests/it/keys/rsa-pkcs1.pem");
const RSA_PKCS8: &str = include_str!("../../../tests/it/keys/rsa-pkcs8.pem");
const P256_SEC1: &str = include_str!("../../../tests/it/keys/p256-sec1.pem");
const P256_PKCS8: &str = include_str!("../../../tests/it/keys/p256-pkcs8.pem");
const P384_SEC1: &str = include_str!("../../../tests/it/keys/p384-sec1.pem");
const P384_PKCS8: &str = include_str!("../../../tests/it/keys/p384-pkcs8.pem");
const P521_SEC1: &str = include_str!("../../../tests/it/keys/p521-sec1.pem");

/// Both are one key.
fn check_same(one: &str, other: &str) {
    let public = |pem| parse(pem).expect("the key must be usable").public_key_raw().to_vec();
    assert_eq!(public(one), public(other));
}

fn check_refused(pem: &str, expected: &str) {
    let Err(error) = parse(pem) else { panic!("the key must be refused") };
    assert_eq!(error.to_string(), format!("the certificate authority of etcd cannot be used: {expected}"));
}

#[test]
fn keys_of_cluster_api_and_kubeadm_are_those_of_openssl() {
    check_same(RSA_PKCS1, RSA_PKCS8);
    check_same(P256_SEC1, P256_PKCS8);
    check_same(P384_SEC1, P384_PKCS8);
}

#[test]
fn what_cannot_sign_is_refused_without_a_word_of_the_key() {
    check_refused("", "there is no private key in its PEM");
    check_refused("-----BEGIN PRIVATE KEY-----\nAAAA", "there is no private key in its PEM");
    let usable = "its key is neither RSA nor ECDSA on P-256 or P-384";
    check_refused("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", usable);
    check_refused("-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n", usable);
    check_refused(P521_SEC1, usable);
}

#[test]
fn lengths_are_as_der_wants_them() {
    let head = |length| tagged(SEQUENCE, &vec![0; length])[1..].iter().take(3).copied().collect::<Vec<u8>>();
    assert_eq!(tagged(SEQUENCE, &[]), [SEQUENCE, 0]);
    assert_eq!(head(0x7f)[..1], [0x7f]);
    assert_eq!(head(0x80)[..2], [0x81, 0x80]);
    assert_eq!(head(0x100), [0x82, 0x01, 0x00]);
}
