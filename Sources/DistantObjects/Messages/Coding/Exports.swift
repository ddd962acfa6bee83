// What values need that travel over a connection. Programs that make archives import KeyedArchive as well.
@_exported public import struct KeyedArchive.ArchiveError
@_exported public import struct KeyedArchive.ArchiveLimits
@_exported public import struct KeyedArchive.ClassRegistry
@_exported public import enum KeyedArchive.Default
@_exported public import protocol KeyedArchive.DefaultValue
@_exported public import struct KeyedArchive.Defaulted
@_exported public import struct KeyedArchive.GraphList
@_exported public import struct KeyedArchive.GraphView
@_exported public import protocol KeyedArchive.ObjectCoding
@_exported public import class KeyedArchive.ObjectDecoder
@_exported public import class KeyedArchive.ObjectEncoder
@_exported public import protocol KeyedArchive.OpenEnum
