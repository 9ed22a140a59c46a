// SPDX-License-Identifier: Apache-2.0
// Keys of tests: two pairs of Ed25519, as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them.
#pragma once

namespace naysay::sample {

inline constexpr const char* kPrivateKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIEghJviFHL3/qAi7jF0b0NQze2pFZitqoUCeker7fmR2\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr const char* kPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAKUEbMqkPDYiVz2oZLMsdk7l8i+RW5RndVwM6vaxq8+A=\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr const char* kOtherPrivateKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEILUPfQgwmHNktOJtxv4MHkfMuw0LBl/2iY2LWtqvzyW+\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr const char* kOtherPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAfUHEs1bEZGWk5yfpInKddSw8GYzJe6PDOsO68LlzoAE=\n"
    "-----END PUBLIC KEY-----\n";

}  // namespace naysay::sample
