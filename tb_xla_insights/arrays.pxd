# What kernels take: contiguous NumPy arrays, to read (`Int64`) or to fill (`OutInt64`).

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

ctypedef const int64_t[::1] Int64
ctypedef const int32_t[::1] Int32
ctypedef const int16_t[::1] Int16
ctypedef const int8_t[::1] Int8
ctypedef const uint32_t[::1] Bits
ctypedef const uint8_t[::1] Bytes
ctypedef const uint8_t[::1] Bools

ctypedef int64_t[::1] OutInt64
ctypedef int32_t[::1] OutInt32
ctypedef int16_t[::1] OutInt16
ctypedef int8_t[::1] OutInt8
ctypedef uint32_t[::1] OutBits
ctypedef uint8_t[::1] OutBools
ctypedef double[::1] OutDouble
ctypedef int64_t[:, ::1] OutTable64
ctypedef int32_t[:, ::1] OutTable32
