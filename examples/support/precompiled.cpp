// Compiles the precompiled header of examples/CMakeLists.txt.
