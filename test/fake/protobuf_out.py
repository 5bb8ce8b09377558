# SPDX-License-Identifier: GPL-2.0-or-later
"""Fields of a message in protobuf's wire format, for the scripts beside it."""


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data
