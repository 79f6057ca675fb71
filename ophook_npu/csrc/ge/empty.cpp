// libfmk_parser and libascend_protobuf: torchair's extension modules name them as needed libraries and use no symbol of
// theirs. They exist here so that the loader finds them, and export nothing.
